"""Reads transcripts one ahead of the one being stored, in a thread.

Reading and storing take about as long as each other. Nothing here stores or counts anything.
"""

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from synthorg_tui.executions.store import FileMark
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import FileReading, read_file
from synthorg_tui.ingest.records import ReadMeter

_log = logging.getLogger(__name__)


class Ahead:
    """Reads one file ahead; ``reporter`` is who reports, as for ``read_file``."""

    def __init__(
        self, reader: ThreadPoolExecutor, cancel: threading.Event, *, reporter: str = ""
    ) -> None:
        self._reader = reader
        self._cancel = cancel
        self._reporter = reporter
        self._meter = ReadMeter(stop=cancel)
        self._waiting: tuple[TranscriptFile, asyncio.Future[FileReading]] | None = None

    @property
    def bytes_read(self) -> int:
        """How much of the file started last is read."""
        return self._meter.bytes

    def start(self, file: TranscriptFile | None) -> None:
        """Begin to read a file."""
        if file is None:
            self._waiting = None
            return
        self._meter = ReadMeter(stop=self._cancel)
        loop = asyncio.get_running_loop()
        self._waiting = (
            file,
            loop.run_in_executor(self._reader, _read, file, self._meter, self._reporter),
        )

    def take(self, file: TranscriptFile) -> "asyncio.Future[FileReading]":
        """The reading of ``file``, begun now unless it is under way."""
        if self._waiting is None or self._waiting[0] is not file:
            self.start(file)
        assert self._waiting is not None
        return self._waiting[1]

    async def settle(self) -> None:
        """Wait for a reading that nobody took; it stops soon when cancelled."""
        if self._waiting is not None:
            await self._waiting[1]


def _read(file: TranscriptFile, meter: ReadMeter, reporter: str) -> FileReading:
    """The file's reading; one that our readers choke on must not stop the others."""
    try:
        return read_file(file, meter, reporter=reporter)
    except Exception as error:
        _log.exception("can't understand %s", file.path)
        mark = FileMark(str(file.path), file.size, file.mtime_ns, "")
        return FileReading(mark, skipped=f"can't be understood: {type(error).__name__}")
