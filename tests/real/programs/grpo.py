"""A reinforcement learning run of a few steps with TRL's GRPO: `grpo.py FOLDER STEPS`.

Its log goes to the terminal, as in a job; what the trainer itself holds at its end is written to FOLDER/truth.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tiny import model, texts, tokenizer
from trl import GRPOConfig, GRPOTrainer


def reward(completions: list[str], **_: object) -> list[float]:
    """More for more colours."""
    return [sum(word in ("red", "green", "blue") for word in one.split()) / 8 for one in completions]


def main() -> None:
    """One run."""
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    args = GRPOConfig(
        output_dir=str(folder / "out"),
        use_cpu=True,
        bf16=False,
        report_to=[],
        max_steps=steps,
        logging_steps=1,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=8,
        learning_rate=1e-3,
        save_strategy="no",
    )
    data = texts(32).rename_column("text", "prompt")
    ran = GRPOTrainer(model=model(), reward_funcs=reward, args=args, train_dataset=data, processing_class=tokenizer())
    ran.train()
    state = ran.state
    truth = {"step": state.global_step, "max_step": state.max_steps, "history": state.log_history}
    (folder / "truth.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
