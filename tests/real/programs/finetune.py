"""A fine-tuning run of a few steps with Hugging Face's Trainer or TRL's: its log goes to the terminal, as in a job.

`finetune.py WAY FOLDER SETTINGS` (ways: `trainer sft`; SETTINGS is a JSON object of training arguments, with
`resume` true to go on from the last checkpoint). FOLDER/truth.json is what the trainer itself holds at its end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tiny import model, texts, tokenizer
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments


def trainer(folder: Path, settings: dict[str, Any]) -> Trainer:
    """Hugging Face's own."""
    words = tokenizer()
    data = texts(64).map(lambda rows: words(rows["text"]), batched=True, remove_columns=["text"])
    return Trainer(
        model=model(),
        args=TrainingArguments(output_dir=str(folder / "out"), use_cpu=True, report_to=[], **settings),
        train_dataset=data,
        eval_dataset=data.select(range(8)),
        data_collator=DataCollatorForLanguageModeling(words, mlm=False),
    )


def sft(folder: Path, settings: dict[str, Any]) -> Trainer:
    """TRL's."""
    from trl import SFTConfig, SFTTrainer

    args = SFTConfig(output_dir=str(folder / "out"), use_cpu=True, bf16=False, report_to=[], max_length=32, **settings)
    data = texts(64)
    return SFTTrainer(
        model=model(), args=args, train_dataset=data, eval_dataset=data.select(range(8)), processing_class=tokenizer()
    )


def main() -> None:
    """One run."""
    way, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    resume = settings.pop("resume", False)
    ran = {"trainer": trainer, "sft": sft}[way](folder, settings)
    ran.train(resume_from_checkpoint=resume or None)
    ran.save_model()
    state = ran.state
    truth = {"step": state.global_step, "max_step": state.max_steps, "history": state.log_history}
    (folder / "truth.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
