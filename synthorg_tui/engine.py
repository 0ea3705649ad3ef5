"""The composition root: settings in, wired services out. Opens and closes the stores."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel, SeniorityLevel
from synthorg_tui.ingest.service import ImportService
from synthorg_tui.memory.backends.local.backend import LocalMemoryBackend
from synthorg_tui.memory.backends.local.maintenance import Maintenance
from synthorg_tui.memory.config import MemoryStorageConfig
from synthorg_tui.memory.errors import MemoryCapabilityError
from synthorg_tui.memory.extensions import Desk
from synthorg_tui.memory.factory import BackendContext, create_memory_backend
from synthorg_tui.memory.index.protocol import VectorIndex
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.executions import DuckDBExecutionStore, ExecutionStore
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.settings.config import RootConfig
from synthorg_tui.settings.loader import load_settings
