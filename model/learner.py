"""The learner: optimiser steps, averaged weights to play with, and a state to go on from.

What is stored between sessions is one safetensors file: tensors as tensors, everything else as JSON
in its header. After `load` training continues bit for bit on the same machine's CPU.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from engine.storage import atomic_write
from model.losses import Calibration, Losses, compute_losses
from model.muon import Muon
from model.network import Network
from model.targets import Batch
from model.torch_evaluator import DEVICE

STATE_FORMAT = 1
STATE_FILE = "learner.safetensors"

AVERAGED_STEPS = 50
"""Steps over which the usual loss is averaged, and before which only NaN counts as divergence."""


class DivergedError(Exception):
    """The loss is NaN or exploded; the message names the file with the batch that did it."""


class LearnerStateError(Exception):
    """A stored state that cannot be used; one line naming the file, the reason and what to do."""


@dataclass(slots=True, kw_only=True)
class LearnerConfig:
    """How the network is trained."""

    #: "muon" moves the trunk's matrices by `model.muon` and everything else by "adamw".
    optimizer: Literal["muon", "adamw", "sgd"] = "muon"
    #: Peak learning rate.
    lr: float = 3e-3
    #: Of "muon" and "sgd".
    momentum: float = 0.9
    #: Applied to weights, not to biases: in the gradient for "sgd", else decoupled.
    weight_decay: float = 1e-4
    #: "constant"; "cosine": falls to lr * schedule_factor at schedule_steps and stays there;
    #: "step": is multiplied by schedule_factor every schedule_steps.
    schedule: Literal["constant", "cosine", "step"] = "constant"
    #: 0 lets "cosine" fall all the way to the run's goal, however many steps that takes here.
    schedule_steps: int = 10_000
    schedule_factor: float = 0.1
    #: Steps in which the learning rate rises to its peak.
    warmup_steps: int = 100
    #: Samples in a step.
    batch_size: int = 256
    #: Longest gradient allowed (2-norm over all weights); longer ones are scaled down. 0: any.
    clip_norm: float = 4.0
    #: Share of the old average kept in each step by the weights that play; 0 plays the newest.
    ema_decay: float = 0.99
    #: Share of search's root value in the outcome target, 0 to 1 (`model.losses.mixed_outcome`).
    value_mix: float = 0.25
    #: Factors of the two losses.
    policy_weight: float = 1.0
    value_weight: float = 1.0
    #: bfloat16 in the forward pass on devices that multiply its matrices: CUDA, and processors with
    #: AMX.
    mixed_precision: bool = True
    #: "auto" takes CUDA where there is one; or a name of PyTorch's, such as "cpu".
    device: str = "auto"
    #: A loss this many times the usual one stops the run.
    explode_factor: float = 20.0

    def __post_init__(self) -> None:
        choices = {
            "optimizer": ("muon", "adamw", "sgd"),
            "schedule": ("constant", "cosine", "step"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"learner.{name}: {getattr(self, name)!r} is not one of {', '.join(allowed)}"
                )
        self._check("batch_size", self.batch_size >= 1, "less than 1")
        lowest = 0 if self.schedule == "cosine" else 1
        self._check("schedule_steps", self.schedule_steps >= lowest, f"less than {lowest}")
        for name in ("weight_decay", "warmup_steps", "clip_norm", "policy_weight", "value_weight"):
            self._check(name, getattr(self, name) >= 0, "negative")
        for name in ("momentum", "ema_decay"):
            self._check(name, 0 <= getattr(self, name) < 1, "outside [0, 1)")
        for name in ("value_mix", "schedule_factor"):
            self._check(name, 0 <= getattr(self, name) <= 1, "outside [0, 1]")
        self._check("lr", self.lr > 0, "not positive")
        self._check("explode_factor", self.explode_factor > 1, "not above 1")

    def _check(self, name: str, holds: bool, wrong: str) -> None:
        if not holds:
            raise ValueError(f"learner.{name}: {getattr(self, name)} is {wrong}")

    def learning_rate(self, step: int, fraction: float = 0.0) -> float:
        """Learning rate of a step, counted from 0, with this share of the run's goal reached."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        if self.schedule == "cosine":
            done = min(1.0, step / self.schedule_steps if self.schedule_steps else fraction)
            share = (1 + math.cos(math.pi * done)) / 2
            return self.lr * (self.schedule_factor + (1 - self.schedule_factor) * share)
        if self.schedule == "step":
            return self.lr * self.schedule_factor ** (step // self.schedule_steps)
        return self.lr


class Learner:
    """Trains a network and keeps the average of its weights."""

    def __init__(self, config: LearnerConfig, network: Network, folder: Path | str = ".") -> None:
        """Train this network, which is moved to the device; bad batches are stored in `folder`.

        Raises ValueError for a device that is not there.
        """
        self.config = config
        self.device = _device(config.device)
        self._mixed = config.mixed_precision and _multiplies_bfloat16(self.device)
        self.network = network.to(self.device).channels_last().train()
        #: The network that plays: an average of the weights over recent steps.
        self.ema_network = Network(network.config).to(self.device).eval().requires_grad_(False)
        self.ema_network.load_state_dict(network.state_dict())
        #: Optimiser steps made.
        self.steps = 0
        #: Value predictions since the owner last cleared it. Not part of the stored state.
        self.calibration = Calibration()
        self._folder = Path(folder)
        self._newest: list[Tensor] = list(self.network.parameters())
        self._averages: list[Tensor] = list(self.ema_network.parameters())
        self._usual_loss = 0.0
        self._optimizer = _optimizer(config, self.network)

    def step(self, batch: Batch, fraction: float = 0.0) -> dict[str, float]:
        """Train on a batch, with this share of the run's goal reached (for the schedule).

        Returns what happened, by name; losses are those before the step.
        Raises DivergedError where the loss or the gradient is no finite number or the loss has
        exploded; the weights are then as they were, and the batch has been stored.
        """
        with DEVICE:
            return self._step(batch, fraction)

    def _step(self, batch: Batch, fraction: float) -> dict[str, float]:
        """`step`, with the device for itself."""
        config = self.config
        rate = config.learning_rate(self.steps, fraction)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        placed = batch.to(self.device)
        losses, value_logits = self._losses(placed)
        loss = config.policy_weight * losses.policy + config.value_weight * losses.value
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._newest, config.clip_norm or math.inf)
        metrics = {
            "loss": loss.item(),
            **losses.metrics(),
            "gradient_norm": norm.item(),
            "lr": rate,
        }
        self._check(metrics, batch)
        self._optimizer.step()
        self.steps += 1
        self._average()
        self.calibration.add(value_logits, placed)
        return metrics

    def save(self, folder: Path | str) -> Path:
        """Store everything that training goes on from in `folder`, replacing what is there.

        Atomic: a crash leaves the old state or the new one. Returns the file. Raises OSError.
        """
        file = Path(folder) / STATE_FILE
        scalars = {
            "format": STATE_FORMAT,
            "steps": self.steps,
            "usual_loss": self._usual_loss,
            "optimizer": self.config.optimizer,
        }
        tensors = {name: tensor.cpu().contiguous() for name, tensor in self._tensors().items()}
        atomic_write(file, save_tensors(tensors, metadata={"narabe learner": json.dumps(scalars)}))
        return file

    def load(self, folder: Path | str) -> None:
        """Go on from a stored state. Raises LearnerStateError; nothing has changed then."""
        file = Path(folder) / STATE_FILE
        scalars, tensors = _read_state(file)
        if scalars["optimizer"] != self.config.optimizer:
            raise LearnerStateError(
                f"{file}: made by optimizer {scalars['optimizer']!r}, the configuration says"
                f" {self.config.optimizer!r}; set learner.optimizer={scalars['optimizer']}"
            )
        self._check_state(file, scalars["steps"], tensors)
        self.network.load_state_dict(_part(tensors, "network/"))
        self.ema_network.load_state_dict(_part(tensors, "average/"))
        self._load_optimizer(_part(tensors, "optimizer/"))
        self.steps = scalars["steps"]
        self._usual_loss = scalars["usual_loss"]

    def _losses(self, batch: Batch) -> tuple[Losses, Tensor]:
        """Losses and value logits [B, 3] of a batch on the device."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._mixed):
            planes = batch.planes.contiguous(memory_format=torch.channels_last)
            policy_logits, value_logits = self.network(planes, batch.globals_)
        losses = compute_losses(policy_logits, value_logits, batch, value_mix=self.config.value_mix)
        return losses, value_logits

    def _check(self, metrics: dict[str, float], batch: Batch) -> None:
        """Store the batch and raise DivergedError if the step would do harm."""
        loss = metrics["loss"]
        finite = math.isfinite(loss) and math.isfinite(metrics["gradient_norm"])
        if finite and self.steps < AVERAGED_STEPS:
            self._usual_loss += (loss - self._usual_loss) / (self.steps + 1)
            return
        if finite and loss <= self.config.explode_factor * self._usual_loss:
            self._usual_loss += (loss - self._usual_loss) / AVERAGED_STEPS
            return
        file = self._folder / f"diverged-{self.steps:08d}.safetensors"
        try:
            tensors = {name: tensor.cpu().contiguous() for name, tensor in batch.tensors().items()}
            atomic_write(file, save_tensors(tensors))
            stored = f"its batch is in {file}"
        except OSError as error:
            stored = f"its batch could not be stored in {file} ({error.strerror})"
        raise DivergedError(
            f"training step {self.steps} diverged: loss {loss:.4g} (policy"
            f" {metrics['policy_loss']:.4g}, value {metrics['value_loss']:.4g}; usually"
            f" {self._usual_loss:.4g}), gradient norm {metrics['gradient_norm']:.4g}; {stored};"
            " go on from the last stored state with a lower learner.lr"
        )

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged weights; at first faster, so that the start is forgotten."""
        decay = min(self.config.ema_decay, self.steps / (self.steps + 9))
        torch._foreach_lerp_(self._averages, self._newest, 1 - decay)

    def _tensors(self) -> dict[str, Tensor]:
        """Every tensor of the state by name."""
        tensors = {f"network/{name}": t for name, t in self.network.state_dict().items()}
        tensors |= {f"average/{name}": t for name, t in self.ema_network.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            for key, value in self._optimizer.state[parameter].items():
                if value is not None:
                    tensors[f"optimizer/{name}/{key}"] = value
        return tensors

    def _check_state(self, file: Path, steps: int, tensors: dict[str, Tensor]) -> None:
        """Raise LearnerStateError unless the tensors are those of this network and optimiser."""
        wanted = {
            f"{part}/{name}": tensor.shape
            for name, tensor in self.network.state_dict().items()
            for part in ("network", "average")
        }
        for name, parameter in self.network.named_parameters():
            for key in _state_keys(self.config, name, parameter) if steps else ():
                shape = torch.Size() if key == "step" else parameter.shape
                wanted[f"optimizer/{name}/{key}"] = shape
        for path, shape in wanted.items():
            if path not in tensors or tensors[path].shape != shape:
                raise LearnerStateError(
                    f"{file}: of another network, or damaged ({path} is missing or has another"
                    " shape); use the configuration that it was made with, or start a new run"
                )

    def _load_optimizer(self, tensors: dict[str, Tensor]) -> None:
        """Set the optimiser's state from "parameter/key" -> tensor."""
        by_name: dict[str, dict[str, Tensor]] = {}
        for path, tensor in tensors.items():
            name, key = path.rsplit("/", 1)
            by_name.setdefault(name, {})[key] = tensor
        names = {parameter: name for name, parameter in self.network.named_parameters()}
        groups = self._optimizer.param_groups
        order = [names[parameter] for group in groups for parameter in group["params"]]
        state = {i: by_name[name] for i, name in enumerate(order) if name in by_name}
        self._optimizer.load_state_dict(
            {"state": state, "param_groups": self._optimizer.state_dict()["param_groups"]}
        )


def _device(name: str) -> torch.device:
    """The device that a configuration means. Raises ValueError for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"learner.device: {name!r} cannot be used ({reason})") from error
    return device


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether matrices of bfloat16 are multiplied by the device itself, and so faster."""
    if device.type == "cpu":
        # Older versions of PyTorch do not tell.
        tell = getattr(torch.cpu, "get_capabilities", None)
        return tell is not None and bool(tell().get("amx_bf16"))
    return device.type == "cuda"


def _optimizer(config: LearnerConfig, network: Network) -> torch.optim.Optimizer:
    """The optimiser, with weight decay on weights only.

    Not the fused kernels: they mix elements up where a weight and its state differ in layout.
    """
    weights = [weight for _, weight in network.named_parameters() if weight.dim() > 1]
    biases = [weight for _, weight in network.named_parameters() if weight.dim() == 1]
    groups: list[dict[str, Any]] = [
        {"params": weights, "weight_decay": config.weight_decay},
        {"params": biases, "weight_decay": 0.0},
    ]
    if config.optimizer == "sgd":
        return torch.optim.SGD(
            groups,
            lr=config.lr,
            momentum=config.momentum,
            nesterov=config.momentum > 0,
            foreach=True,
        )
    if config.optimizer == "muon":
        trunk = [w for name, w in network.named_parameters() if _is_orthogonal(name, w)]
        others = {id(weight) for weight in trunk}
        groups[0]["params"] = [weight for weight in weights if id(weight) not in others]
        groups.append({"params": trunk, "weight_decay": config.weight_decay, "orthogonal": True})
        return Muon(groups, lr=config.lr, momentum=config.momentum)
    return torch.optim.AdamW(groups, lr=config.lr, foreach=True)


def _is_orthogonal(name: str, weight: Tensor) -> bool:
    """Whether Muon moves a weight: the matrices of the trunk, neither inputs nor heads."""
    return name.startswith("blocks.") and weight.dim() > 1


def _state_keys(config: LearnerConfig, name: str, weight: Tensor) -> tuple[str, ...]:
    """What the optimiser keeps for a weight after the first step."""
    if config.optimizer == "sgd":
        return ("momentum_buffer",) if config.momentum else ()
    if config.optimizer == "muon" and _is_orthogonal(name, weight):
        return ("step", "momentum_buffer")
    return ("step", "exp_avg", "exp_avg_sq")


def _read_state(file: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Scalars and tensors of a stored state. Raises LearnerStateError."""
    try:
        with safe_open(file, framework="pt") as stored:
            metadata = stored.metadata() or {}
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        scalars = json.loads(metadata["narabe learner"])
        if scalars["format"] > STATE_FORMAT:
            raise LearnerStateError(
                f"{file}: written by a newer narabe (format {scalars['format']}, this one reads"
                f" {STATE_FORMAT}); update narabe"
            )
        scalars["usual_loss"] = float(scalars["usual_loss"])
        scalars["steps"] = int(scalars["steps"])
        scalars["optimizer"] = str(scalars["optimizer"])
    except OSError as error:
        raise LearnerStateError(f"{file}: cannot be read ({error}); start a new run") from error
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise LearnerStateError(
            f"{file}: truncated or no learner's state; restore it from a backup or start a new run"
        ) from error
    return scalars, tensors


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors below a prefix, named without it."""
    return {n.removeprefix(prefix): tensor for n, tensor in tensors.items() if n.startswith(prefix)}
