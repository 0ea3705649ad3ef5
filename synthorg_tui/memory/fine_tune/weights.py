"""Trains all weights of a model, in a process of its own: the one module that runs torch.

Run as ``python -m``, it reads a job as a line of JSON and answers with lines of JSON. The job
``embed`` gives vectors of texts. The job ``train`` has the questions, the vectors of the texts they
are asked among, which never change, and what counts as right. At each look it tells the vectors of
the questions that validate and is answered with a metric; then its state is written, whole, so that
a run that is killed goes on there and ends with the same bytes. In the end the best weights are
written as ONNX. It ends when its input does.
"""

import base64
import hashlib
import json
import math
import os
import queue
import shutil
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from synthorg_tui.core.files import PRIVATE_FILE, write_atomically

PATIENCE: Final = 3
"""Looks without an improvement after which training stops."""
STEPS_AT_ONCE: Final = 8
"""Most steps between two looks; a look is at the end of each epoch, if that comes sooner."""
LONGEST: Final = 512
"""Tokens of a question at most, for a model that doesn't say it."""

_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_NEVER: Final = -1e9
_AT_ONCE: Final = 32


class OutOfBoundsError(Exception):
    """The numbers left all bounds."""


class Talk:
    """Lines of JSON to and from the app; ends this process when the app is gone."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._source = source
        self._target = target
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while line := self._source.readline():
            self._lines.put(line)
        os._exit(1)

    def heard(self) -> Any:
        """Wait for the next line."""
        return json.loads(self._lines.get())

    def say(self, **said: Any) -> None:
        """Send a line."""
        self._target.write(json.dumps(said).encode() + b"\n")
        self._target.flush()


class QuestionModel:
    """A sentence-transformers model from a folder, with its parameters by name."""

    def __init__(self, folder: str, threads: int) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True)
        options = {"use_safetensors": True, "attn_implementation": "eager"}
        self.model: Any = SentenceTransformer(
            folder, device="cpu", local_files_only=True, trust_remote_code=False,
            model_kwargs=options,
        ).float()  # fmt: skip
        self.max_tokens = min(int(self.model.max_seq_length or LONGEST), LONGEST)
        self.model.max_seq_length = self.max_tokens
        self.weights: dict[str, Any] = dict(self.model.named_parameters())

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return the unit vectors of texts, through which a loss can be led back."""
        import torch

        tokens = self.model.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.max_tokens,
            return_tensors="pt",
        )  # fmt: skip
        features = {name: tokens[name] for name in ("input_ids", "attention_mask")}
        hidden = self.model(features)["sentence_embedding"]
        return torch.nn.functional.normalize(hidden, dim=1)

    def embed(self, texts: Sequence[str]) -> str:
        """Return the vectors of texts as they are used, as base64."""
        import torch

        self.model.eval()
        parts = [texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE)]
        with torch.no_grad():
            found = [self.vectors(part).numpy() for part in parts]
        rows = np.concatenate(found) if found else np.zeros((0, 0))
        return base64.b64encode(rows.astype("<f4").tobytes()).decode()

    def put(self, weights: dict[str, Any]) -> None:
        """Set all weights."""
        import torch

        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(weights[name])

    def copied(self) -> dict[str, Any]:
        """Return all weights as they are now."""
        return {name: weight.detach().clone() for name, weight in self.weights.items()}


class QuestionGroup:
    """Questions asked among the same texts, with what is right and what counts at all."""

    def __init__(self, said: dict[str, Any]) -> None:
        import torch

        self.questions: list[str] = said["questions"]
        rows, count = len(self.questions), int(said["count"])
        flat = np.frombuffer(base64.b64decode(said["texts"]), "<f4").astype(np.float32)
        bits = np.frombuffer(base64.b64decode(said["allowed"]), np.uint8)
        allowed = np.unpackbits(bits, count=rows * count).reshape(rows, count).astype(bool)
        self.texts = torch.from_numpy(flat.reshape(count, -1))
        self.allowed = torch.from_numpy(allowed)
        self.answers: list[list[int]] = said["answers"]

    def loss(self, vectors: Any, rows: Sequence[int], temperature: float) -> Any:
        """Return the summed loss of some of the questions, given their vectors."""
        import torch

        scores = vectors @ self.texts.T / temperature
        scores = scores.masked_fill(~self.allowed[list(rows)], _NEVER)
        targets = torch.zeros_like(scores)
        for place, row in enumerate(rows):
            targets[place, self.answers[row]] = 1 / len(self.answers[row])
        return -(targets * torch.log_softmax(scores, dim=1)).sum()


class WeightTraining:
    """One training from its job to its end, going on where the state in its file stands."""

    def __init__(self, job: dict[str, Any], talk: Talk) -> None:
        self._job = job
        self._talk = talk
        self._model = QuestionModel(job["model"], job["threads"])
        self._groups = [QuestionGroup(each) for each in job["groups"]]
        self._all = [
            (g, row) for g, each in enumerate(self._groups) for row in range(len(each.questions))
        ]
        self._per_epoch = max(1, math.ceil(len(self._all) / job["batch_size"]))
        self._of = self._per_epoch * int(job["epochs"])
        self._step, self._best_step = 0, 0
        self._curve: list[dict[str, Any]] = []
        zeros = {name: weight.detach() * 0 for name, weight in self._model.weights.items()}
        self._first, self._second = zeros, {name: zero.clone() for name, zero in zeros.items()}
        self._best = self._model.copied()
        self._key = key_of(job)

    def run(self) -> None:
        """Train, tell what comes of it, and write the model."""
        self._restore()
        if not self._curve:
            self._look(self._first_loss())
        while self._step < self._of and not self._is_stuck:
            in_epoch = self._per_epoch - self._step % self._per_epoch
            losses = [self._take_step() for _ in range(min(STEPS_AT_ONCE, in_epoch))]
            self._look(sum(losses) / len(losses))
        self._model.put(self._best)
        write_onnx(self._model, Path(self._job["out"]))
        dims = int(self._groups[0].texts.shape[1])
        self._talk.say(done=True, dims=dims, max_tokens=self._model.max_tokens)

    def _first_loss(self) -> float:
        import torch

        self._model.model.eval()
        with torch.no_grad():
            return float(self._loss(self._batch(0)).item())

    @property
    def _is_stuck(self) -> bool:
        since = [point for point in self._curve if point["step"] > self._best_step]
        return len(since) >= PATIENCE

    def _batch(self, step: int) -> list[tuple[int, int]]:
        """The questions of a step; each epoch has an order of its own."""
        epoch, at = divmod(step, self._per_epoch)
        order = np.random.default_rng([self._job["seed"], epoch]).permutation(len(self._all))
        size = self._job["batch_size"]
        return [self._all[place] for place in order[at * size : (at + 1) * size]]

    def _loss(self, batch: Sequence[tuple[int, int]]) -> Any:
        vectors = self._model.vectors([self._groups[g].questions[row] for g, row in batch])
        total = vectors.sum() * 0
        for group in sorted({g for g, _ in batch}):
            places = [place for place, (g, _) in enumerate(batch) if g == group]
            rows = [batch[place][1] for place in places]
            total = total + self._groups[group].loss(
                vectors[places], rows, self._job["temperature"]
            )
        return total / len(batch)

    def _take_step(self) -> float:
        import torch

        torch.manual_seed(self._job["seed"] * 1_000_003 + self._step)
        self._model.model.train()
        self._model.model.zero_grad()
        loss = self._loss(self._batch(self._step))
        loss.backward()
        self._step += 1
        with torch.no_grad():
            self._adam()
        if not math.isfinite(loss.item()):
            raise OutOfBoundsError
        return float(loss.item())

    def _adam(self) -> None:
        bias, spread = 1 - _FIRST**self._step, 1 - _SECOND**self._step
        for name, weight in self._model.weights.items():
            if weight.grad is None:  # a part that gives no vector
                continue
            first, second = self._first[name], self._second[name]
            first.mul_(_FIRST).add_(weight.grad, alpha=1 - _FIRST)
            second.mul_(_SECOND).addcmul_(weight.grad, weight.grad, value=1 - _SECOND)
            rate = self._job["learning_rate"]
            weight.addcdiv_(first / bias, (second / spread).sqrt() + _TINY, value=-rate)

    def _look(self, loss: float) -> None:
        """Ask how good the weights are now, and store where training stands."""
        if not math.isfinite(loss):
            raise OutOfBoundsError
        self._talk.say(vectors=self._model.embed(self._job["validation"]))
        metric = float(self._talk.heard()["metric"])
        if self._curve and metric > max(point["metric"] for point in self._curve):
            self._best, self._best_step = self._model.copied(), self._step
        self._curve.append({"step": self._step, "loss": loss, "metric": metric})
        self._store()
        self._talk.say(curve=self._curve, step=self._step, of=self._of)

    def _store(self) -> None:
        from safetensors.torch import save

        weights = {name: weight.detach() for name, weight in self._model.weights.items()}
        kinds = {"w": weights, "m": self._first, "v": self._second, "b": self._best}
        tensors = {f"{kind}/{name}": each for kind in kinds for name, each in kinds[kind].items()}
        curve, key = self._curve, self._key
        about = {"key": key, "step": self._step, "best": self._best_step, "curve": curve}
        content = save(tensors, {"about": json.dumps(about)})
        write_atomically(self._job["state"], content, mode=PRIVATE_FILE)

    def _restore(self) -> None:
        """Go on where the file stands; one that is damaged or of another job is passed over."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self._job["state"], "pt") as file:
                about = json.loads(file.metadata()["about"])
                if about["key"] != self._key:
                    return
                found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            return
        names = list(self._model.weights)
        parts = [{name: found[f"{kind}/{name}"] for name in names} for kind in "wmvb"]
        self._model.put(parts[0])
        self._first, self._second, self._best = parts[1:]
        self._step, self._best_step, self._curve = about["step"], about["best"], about["curve"]
        self._talk.say(curve=self._curve, step=self._step, of=self._of)


def key_of(job: dict[str, Any]) -> str:
    """Return what tells trainings apart: all that decides what comes of them."""
    said = {name: value for name, value in job.items() if name not in ("state", "out")}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for path in sorted(Path(job["model"]).rglob("*.safetensors")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def write_onnx(model: QuestionModel, folder: Path) -> None:
    """Write a model and its tokenizer to a new folder; the model gives a text its vector."""
    import torch

    class Whole(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.inner = model.model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            hidden = self.inner(features)["sentence_embedding"]
            return torch.nn.functional.normalize(hidden, dim=1)

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    free = {0: "texts", 1: "tokens"}
    torch.onnx.export(
        Whole().eval(),
        (torch.ones_like(mask), mask),
        str(folder / "model.onnx"),
        dynamo=False,  # the newer way leaves paths in it, and takes ten times as long
        opset_version=17,
        input_names=["input_ids", "attention_mask"],
        output_names=["vector"],
        dynamic_axes={"input_ids": free, "attention_mask": free, "vector": {0: "texts"}},
    )
    words = model.model.tokenizer.backend_tokenizer.to_str()
    (folder / "tokenizer.json").write_text(words, encoding="utf-8")


def main() -> int:
    """Do the job on the standard input; returns 0, also for a failure that was told."""
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    os.umask(0o077)
    os.nice(10)
    warnings.simplefilter("ignore")
    talk = Talk(sys.stdin.buffer, target)
    job = talk.heard()
    try:
        if job["do"] == "embed":
            talk.say(vectors=QuestionModel(job["model"], job["threads"]).embed(job["texts"]))
        else:
            WeightTraining(job, talk).run()
    except OutOfBoundsError:
        talk.say(
            error="training left all bounds: the learning rate is too large for these questions",
            remedy="Start a run with a smaller --learning-rate.",
        )
    except Exception as error:
        talk.say(error=f"training failed: {type(error).__name__}: {error}"[:500])
    return 0


if __name__ == "__main__":
    sys.exit(main())
