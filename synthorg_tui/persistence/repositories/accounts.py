"""Repositories of what a person sets and owns: settings, presets, accounts and their keys."""

from synthorg_tui.persistence.entities import ApiKey, CustomPreset, Setting, User
from synthorg_tui.persistence.repositories.table import KeyedTable


class DuckDBSettings(
    KeyedTable[Setting], entity=Setting, table="settings", key=("namespace", "key")
):
    """Values that were set in the app, which the settings of the next start are made with."""

    async def get_namespace(self, namespace: str) -> tuple[Setting, ...]:
        return await self.select({"namespace = ?": namespace}, order="key")

    async def get_all(self) -> tuple[Setting, ...]:
        return await self.select({}, order="namespace, key")

    async def delete_namespace(self, namespace: str) -> int:
        return await self.remove_where("namespace = ?", [namespace])


class DuckDBPresets(
    KeyedTable[CustomPreset], entity=CustomPreset, table="custom_presets", key=("name",)
):
    """Personalities of agents.

    To its contract only: agents here are other programs with a personality of their own, so that
    only programs and the export use it.
    """

    async def list_presets(self) -> tuple[CustomPreset, ...]:
        return await self.select({}, order="name")

    async def count(self) -> int:
        return int(str(await self.scalar("SELECT count(*) FROM custom_presets")))


class DuckDBUsers(KeyedTable[User], entity=User, table="users", unique="username"):
    """Accounts of persons.

    To its contract only: whoever may open the data directory is the one person here, and no
    decision asks for an account.
    """

    async def get_by_username(self, username: str) -> User | None:
        found = await self.select({"username = ?": username}, order="id")
        return found[0] if found else None

    async def list_users(self) -> tuple[User, ...]:
        return await self.select({}, order="username")

    async def count(self) -> int:
        return int(str(await self.scalar("SELECT count(*) FROM users")))


class DuckDBApiKeys(KeyedTable[ApiKey], entity=ApiKey, table="api_keys", unique="key_hash"):
    """Keys of programs, as hashes.

    To its contract only: programs connect over a socket or a token file that only the person's own
    account can read, which takes no key.
    """

    async def get_by_hash(self, key_hash: str) -> ApiKey | None:
        found = await self.select({"key_hash = ?": key_hash}, order="id")
        return found[0] if found else None

    async def list_by_user(self, user_id: str) -> tuple[ApiKey, ...]:
        return await self.select({"user_id = ?": user_id}, order="created_at, id")
