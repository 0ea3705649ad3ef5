"""Chat models in GGUF files, run by llama.cpp: answers, and exact counts of tokens.

Imported only where such a model is configured. How the library is kept quiet while it loads is in
``providers.llama``, which embedders use too.
"""

import asyncio
import json
import logging
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.providers.completion.config import GgufModelConfig
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions, TokenUsage
from synthorg_tui.providers.completion.text_tools import read_from_text, told_in_text
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.local import default_threads
from synthorg_tui.providers.models import ChatMessage

_log = logging.getLogger(__name__)

_PIECE = 256
"""Tokens of a prompt that are read before looking whether to stop."""

_CACHED_TEXTS = 4096
_UNAVAILABLE = object()

_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.MAX_TOKENS}


_GoesOn: TypeAlias = Callable[[Callable[[], str]], bool]


class LlamaCompletion:
    """Chat model in a GGUF file; answers one conversation at a time on a thread of its own.

    ``on_load`` is called on that thread with the loaded share of the model, from 0 to 1.
    """

    def __init__(
        self, config: GgufModelConfig, *, on_load: Callable[[float], None] | None = None
    ) -> None:
        self._config = config
        self._on_load = on_load
        self._executor: ThreadPoolExecutor | None = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="completion"
        )
        self._closing = threading.Event()
        self._chat: _Chat | None = None
        self._asked = 0
        self._idle: asyncio.TimerHandle | None = None

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        if self._executor is None:
            raise CompletionError("The language model is closed", retryable=False)
        cancelled = threading.Event()
        self._asked += 1

        def stops() -> bool:
            return cancelled.is_set() or self._closing.is_set()

        loop = asyncio.get_running_loop()
        on_text = options.on_text

        def goes_on(text: Callable[[], str]) -> bool:
            """Whether to write on; tells the text so far if somebody wants it."""
            if on_text is not None and not stops():
                loop.call_soon_threadsafe(on_text, text())
            return not stops()

        def work() -> Completion:
            return self._complete(list(messages), options, stops, goes_on)

        try:
            return await loop.run_in_executor(self._executor, work)
        except (CompletionError, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise CompletionError(f"The language model failed: {error}", retryable=False) from error
        finally:
            cancelled.set()
            self._unload_later()

    async def close(self) -> None:
        if self._executor is None:
            return
        if self._idle is not None:
            self._idle.cancel()
        executor, self._executor = self._executor, None
        self._closing.set()
        await asyncio.get_running_loop().run_in_executor(executor, self._unload)
        executor.shutdown(wait=True)

    def _unload_later(self) -> None:
        """Free the model's memory unless it is asked again in time."""
        if self._idle is not None:
            self._idle.cancel()
        seconds, asked = self._config.unload_after_seconds, self._asked

        def unload() -> None:
            if self._asked == asked:
                self._unload()

        def submit() -> None:
            if self._executor is not None:
                self._executor.submit(unload)

        if seconds is not None and self._executor is not None:
            self._idle = asyncio.get_running_loop().call_later(seconds, submit)

    def _complete(
        self,
        messages: list[ChatMessage],
        options: CompletionOptions,
        stops: Callable[[], bool],
        goes_on: "_GoesOn",
    ) -> Completion:
        if stops():  # while it waited for the thread
            raise _interrupted()
        if self._chat is None:
            self._chat = self._loaded(stops)
        if not options.tools:
            return self._chat.answer(messages, options, stops, goes_on)
        told, plain = told_in_text(messages, options)
        answer = self._chat.answer(told, plain, stops, goes_on)
        return read_from_text(answer, messages, options.tools)

    def _loaded(self, stops: Callable[[], bool]) -> "_Chat":
        def goes_on(share: float) -> bool:
            if self._on_load is not None:
                self._on_load(share)
            return not stops()

        try:
            return _Chat(self._config, goes_on)
        except CompletionError:
            if stops():
                raise _interrupted() from None
            raise

    def _unload(self) -> None:
        if self._chat is not None:
            self._chat.close()
            self._chat = None


class _Chat:
    """A loaded model with its chat template. Belongs to one thread."""

    def __init__(self, config: GgufModelConfig, goes_on: Callable[[float], bool]) -> None:
        threads = config.threads or default_threads()
        self._model = load_model(
            config.path,
            goes_on=goes_on,
            n_ctx=config.context_tokens,
            n_threads=threads,
            n_threads_batch=threads,
        )
        self._context = min(config.context_tokens, self._model._model.n_ctx_train())
        self._control = _control_tokens(self._model)
        self._template = _template(self._model)

    def close(self) -> None:
        self._model.close()

    def answer(
        self,
        messages: list[ChatMessage],
        options: CompletionOptions,
        stops: Callable[[], bool],
        goes_on: "_GoesOn",
    ) -> Completion:
        import llama_cpp

        prompt = self._prompt(messages)
        room = self._context - len(prompt)
        if room < 1:
            raise PromptTooLongError(len(prompt), self._context)
        self._read(prompt, stops)

        def is_over(tokens: Any, _scores: Any) -> bool:
            return not goes_on(lambda: self._text(tokens[len(prompt) :]))

        answer = self._model.create_completion(
            prompt,
            max_tokens=min(options.max_tokens, room),
            temperature=options.temperature,
            stop=list(options.stop),
            seed=options.seed,
            repeat_penalty=options.repeat_penalty,
            grammar=_grammar(options),
            stopping_criteria=llama_cpp.StoppingCriteriaList([is_over]),
        )
        if stops():
            raise _interrupted()
        return _completion(answer)

    def _read(self, prompt: list[int], stops: Callable[[], bool]) -> None:
        """Reads a long prompt piece by piece; what follows finds it in the model's cache.

        It begins after what the cache has of the prompt before: reading less would drop the rest.
        """
        cached = self._model.input_ids[: self._model.n_tokens].tolist()
        known = self._model.longest_token_prefix(cached, prompt)
        for end in range(known + _PIECE, len(prompt), _PIECE):
            if stops():
                raise _interrupted()
            next(self._model.generate(prompt[:end], temp=0.0))

    def _text(self, tokens: Any) -> str:
        raw: bytes = self._model.detokenize(tokens.tolist())
        return raw.decode("utf-8", "ignore")  # the last character may be incomplete

    def _prompt(self, messages: list[ChatMessage]) -> list[int]:
        plain = [
            {"role": message.role.value, "content": self._without_control(message.content)}
            for message in messages
        ]
        try:
            text = self._template(messages=plain).prompt
        except Exception:  # jinja2's and the template's own: some know no system role
            text = self._template(messages=_without_system(plain)).prompt
        tokens: list[int] = self._model.tokenize(
            text.encode("utf-8", "replace"), add_bos=False, special=True
        )
        bos = self._model.token_bos()
        wants_bos = self._model._model.add_bos_token() and tokens[:1] != [bos]
        return [bos, *tokens] if wants_bos else tokens

    def _without_control(self, content: str) -> str:
        """A text that can't end its turn: what the model takes for a control token is split."""
        return self._control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", content)


def _control_tokens(model: Any) -> re.Pattern[str]:
    """Matches every text that the tokenizer would turn into a control token."""
    import llama_cpp

    vocabulary = model._model.vocab
    texts = [
        model._model.token_get_text(token)
        for token in range(model.n_vocab())
        if llama_cpp.llama_vocab_is_control(vocabulary, token)
    ]
    longest_first = sorted(filter(None, texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _template(model: Any) -> Callable[..., Any]:
    """The model's own chat template; ChatML for a model without one."""
    from llama_cpp import llama_chat_format

    template = model.metadata.get("tokenizer.chat_template")
    if template is None:
        formatter: Callable[..., Any] = llama_chat_format.format_chatml
        return formatter
    eos, bos = model.token_eos(), model.token_bos()
    return llama_chat_format.Jinja2ChatFormatter(
        template=template,
        eos_token=model._model.token_get_text(eos) if eos != -1 else "",
        bos_token=model._model.token_get_text(bos) if bos != -1 else "",
    )


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The system messages put in front of the first of the others."""
    system = [message["content"] for message in messages if message["role"] == MessageRole.SYSTEM]
    others = [message for message in messages if message["role"] != MessageRole.SYSTEM]
    first = others[0] if others else {"role": MessageRole.USER.value, "content": ""}
    joined = "\n\n".join(filter(None, [*system, first["content"]]))
    return [{"role": first["role"], "content": joined}, *others[1:]]


def _grammar(options: CompletionOptions) -> Any:
    if options.json_schema is None:
        return None
    from llama_cpp.llama_grammar import LlamaGrammar

    return LlamaGrammar.from_json_schema(json.dumps(options.json_schema), verbose=False)


def _completion(answer: Any) -> Completion:
    choice, usage = answer["choices"][0], answer["usage"]
    return Completion(
        text=choice["text"],
        finish_reason=_REASONS.get(choice["finish_reason"], FinishReason.ERROR),
        usage=TokenUsage(
            prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"]
        ),
    )


def _interrupted() -> CompletionError:
    return CompletionError("The language model was stopped", retryable=True)


def load_model(path: Path, **options: Any) -> Any:
    """Load a GGUF file and return its ``llama_cpp.Llama``; raises ``CompletionError``.

    ``options`` are passed to the constructor of ``Llama``.
    """
    from synthorg_tui.providers.llama import load_llama

    try:
        return load_llama(path, **options)
    except ImportError as error:
        raise CompletionError(
            "GGUF models need llama.cpp, which is not installed",
            retryable=False,
            remedy="Run: pip install 'synthorg-tui[local-model]'",
        ) from error
    except ValueError as error:
        raise CompletionError(
            f"llama.cpp can't load {path}: {error}",
            retryable=False,
            remedy="Check providers.completion.path; it must be a GGUF chat model",
        ) from error


class GgufTokenEstimator:
    """Counts tokens with the tokenizer of a GGUF model, loading its vocabulary but no weights.

    The first count takes a fraction of a second; counts are cached by text. If the file can't be
    loaded, a warning is logged and tokens are estimated from the text's length.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._vocabulary: Any = None
        self._count = lru_cache(maxsize=_CACHED_TEXTS)(self._counted)

    def estimate_tokens(self, text: str) -> int:
        """Return the exact number of tokens, not counting begin and end markers."""
        return self._count(text) if text else 0

    def _counted(self, text: str) -> int:
        with self._lock:
            if self._vocabulary is None:
                self._vocabulary = self._load()
            if self._vocabulary is _UNAVAILABLE:
                return estimate_tokens(text)
            raw = text.encode("utf-8", "replace")
            return len(self._vocabulary.tokenize(raw, add_bos=False, special=False))

    def _load(self) -> Any:
        try:
            return load_model(self._path, vocab_only=True)
        except CompletionError as error:
            _log.warning("tokens are estimated: %s", error)
            return _UNAVAILABLE
