"""benchmarks/cuda.py where there is no GPU; its parts run on one by hand."""

import pytest
import torch

from benchmarks import cuda


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    cuda.main([])
    assert capsys.readouterr().out == "there is no CUDA device here: nothing was measured\n"
