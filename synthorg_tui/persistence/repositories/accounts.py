"""Repositories of what a person sets and owns: settings, presets, accounts and their keys."""

from synthorg_tui.persistence.entities import ApiKey, CustomPreset, Setting, User
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.repositories.table import EntityTable


class DuckDBSettings:
    """Values that were set in the app, which the settings of the next start are made with."""

    def __init__(self, database: StoreDatabase) -> None:
        key = ("namespace", "key")
        self._settings = EntityTable(database, Setting, "settings", key=key)

    async def save(self, setting: Setting) -> None:
        await self._settings.put(setting)

    async def get(self, namespace: str, key: str) -> Setting | None:
        return await self._settings.one(namespace, key)

    async def get_namespace(self, namespace: str) -> tuple[Setting, ...]:
        return await self._settings.select({"namespace = ?": namespace}, order="key")

    async def get_all(self) -> tuple[Setting, ...]:
        return await self._settings.select({}, order="namespace, key")

    async def delete(self, namespace: str, key: str) -> bool:
        return await self._settings.remove(namespace, key)

    async def delete_namespace(self, namespace: str) -> int:
        return await self._settings.remove_where("namespace = ?", [namespace])


class DuckDBPresets:
    """Personalities of agents.

    To its contract only: agents here are other programs with a personality of their own, so that
    only programs and the export use it.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._presets = EntityTable(database, CustomPreset, "custom_presets", key=("name",))

    async def save(self, preset: CustomPreset) -> None:
        await self._presets.put(preset)

    async def get(self, name: str) -> CustomPreset | None:
        return await self._presets.one(name)

    async def list_presets(self) -> tuple[CustomPreset, ...]:
        return await self._presets.select({}, order="name")

    async def count(self) -> int:
        return int(str(await self._presets.scalar("SELECT count(*) FROM custom_presets")))

    async def delete(self, name: str) -> bool:
        return await self._presets.remove(name)


class DuckDBUsers:
    """Accounts of persons.

    To its contract only: whoever may open the data directory is the one person here, and no
    decision asks for an account.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._users = EntityTable(database, User, "users")

    async def save(self, user: User) -> None:
        await self._users.put(user, unique="username")

    async def get(self, user_id: str) -> User | None:
        return await self._users.one(user_id)

    async def get_by_username(self, username: str) -> User | None:
        found = await self._users.select({"username = ?": username}, order="id")
        return found[0] if found else None

    async def list_users(self) -> tuple[User, ...]:
        return await self._users.select({}, order="username")

    async def count(self) -> int:
        return int(str(await self._users.scalar("SELECT count(*) FROM users")))

    async def delete(self, user_id: str) -> bool:
        return await self._users.remove(user_id)


class DuckDBApiKeys:
    """Keys of programs, as hashes.

    To its contract only: programs connect over a socket or a token file that only the person's own
    account can read, which takes no key.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._keys = EntityTable(database, ApiKey, "api_keys")

    async def save(self, key: ApiKey) -> None:
        await self._keys.put(key, unique="key_hash")

    async def get(self, key_id: str) -> ApiKey | None:
        return await self._keys.one(key_id)

    async def get_by_hash(self, key_hash: str) -> ApiKey | None:
        found = await self._keys.select({"key_hash = ?": key_hash}, order="id")
        return found[0] if found else None

    async def list_by_user(self, user_id: str) -> tuple[ApiKey, ...]:
        return await self._keys.select({"user_id = ?": user_id}, order="created_at, id")

    async def delete(self, key_id: str) -> bool:
        return await self._keys.remove(key_id)
