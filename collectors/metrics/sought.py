"""Which lines of a log hold what the readers of training runs need: literals for a search where the log lies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_DIRECTORIES = ("output_dir", "ckpt_path")
_RL_MARKS = (
    "raining steps",
    "Training Step Progress",
    "Training Batches Processed",
    "Resumed training from global_step",
    "complete checkpoint state from",
    "saved checkpoint for",
    "ckpt_interval",
    "use_tis",
    "SkyRL now at ",
    "policy.model.path",
    "policy_num_nodes",
    "policy_num_gpus_per_node",
    "num_inference_engines",
    *_DIRECTORIES,
)
_MIRROR = ("WANDB_MIRROR",)
_CONSOLE = ("': ",)
"""Every line of a dictionary that is printed over many: the one that names the step alone tells nothing."""
_ROWS = ("'reward':", "step=", "step:", " iteration ")
_FAMILIES = ("{'", "'trainer/", "'policy/", "'reward/", "'loss/", "'generate/", "'async/", "'timing/", "'tis/")
_USUAL = (*_MIRROR, _ROWS[0], *_FAMILIES)
"""Of a log whose end holds no step: what is common in other lines too would leave no room for the steps."""
_OF_SOURCE = {"mirror": _MIRROR, "console": _CONSOLE, "row": _ROWS}
_SFT = (
    "'loss':",
    " iteration ",
    "Total optimization steps",
    "| Total steps",
    "Loading model from ",
    "global step ",
    "weights saved in ",
    "index located at ",
    "last_model_checkpoint: ",
    *_DIRECTORIES,
)


def literals(bucket: str, memo: Mapping[str, Any]) -> tuple[str, ...]:
    """Texts of which each wanted line holds one; none for a bucket that makes no steps.

    `memo` is what the reader of the log keeps after its end was read: of a run that prints its steps in one way, only
    such lines are wanted.
    """
    if bucket == "sft":
        return _SFT
    if bucket != "rl":
        return ()
    state: Mapping[str, Any] = (memo.get("rl") or {}).get("state") or {}
    own = _OF_SOURCE.get(state.get("source", ""), _USUAL)
    return (*own, *_RL_MARKS)


def is_all(source: str, asked: Collection[str]) -> bool:
    """True when a search for these literals finds every line of the steps of an RL run that prints them this way."""
    own = _OF_SOURCE.get(source)
    return own is not None and set(own) <= set(asked)
