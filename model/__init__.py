"""The network: its targets and losses, learner, checkpoints, evaluators and export.

Nothing is imported here, so that a bot can use `model.onnx_evaluator` without torch.
"""
