"""What commands are for, found by how programs and scripts are called."""

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from synthorg_tui.executions.commands import command_steps, configure_commands
from synthorg_tui.executions.roles import is_part, role_of, shown_words
from synthorg_tui.ingest import IngestConfig
from tests.tables import rows


def role(command: str) -> str:
    return next(filter(None, map(role_of, command_steps(command))), "")


@rows(
    ("command", "for_what"),
    [
        # Scripts of a project, by whichever runner.
        ("npm test", "test"),
        ("npm run lint", "check"),
        ("npm run test:unit", "test"),
        ("npm -w web run build", "build"),
        ("npm run format:check", "check"),
        ("bun run lint:fix", "format"),
        ("pnpm fix", "format"),
        ("npm run -s typecheck", "check"),
        ("pnpm --filter @vault/api test", "test"),
        ("pnpm -F web lint", "check"),
        ("pnpm -C apps/api run build", "build"),
        ("pnpm -r test", "test"),
        ("corepack pnpm run check", "check"),
        ("yarn workspace web test", "test"),
        ("yarn lint", "check"),
        ("yarn workspaces foreach -A run build", "build"),
        ("bun run test", "test"),
        ("bun --filter web typecheck", "check"),
        ("bun test", "test"),
        ("node --run check", "check"),
        ("deno task fmt", "format"),
        ("deno test", "test"),
        ("mise run test", "test"),
        ("mise r lint", "check"),
        ("mise run fmt", "format"),
        ("mise exec -- go test ./...", "test"),
        ("just fmt", "format"),
        ("just build", "build"),
        ("make -C web lint", "check"),
        ("make test CI=1", "test"),
        ("make", "build"),
        ("task test", "test"),
        ("composer test", "test"),
        ("composer run-script phpstan-check", "check"),
        ("tox", "test"),
        ("tox -e lint", "check"),
        ("nox -s tests", "test"),
        ("nox -s typecheck", "check"),
        ("turbo run build --filter=web", "build"),
        ("npx turbo lint", "check"),
        ("nx test shop", "test"),
        ("nx run shop:lint", "check"),
        ("nx run-many -t build", "build"),
        ("nx affected --target=test", "test"),
        ("hatch run test", "test"),
        ("pdm run pytest", "test"),
        ("poe lint", "check"),
        ("./gradlew :app:test", "test"),
        ("./gradlew integrationTest", "test"),
        ("mvn -pl core clean verify", "check"),
        ("cargo clippy -- -D warnings", "check"),
        ("cargo nextest run", "test"),
        ("go vet ./...", "check"),
        ("mix format", "format"),
        ("mix credo", "check"),
        ("dotnet test", "test"),
        ("swift build", "build"),
        ("rails test", "test"),
        ("npm run wrangler:check", "check"),
        ("pnpm api:generate", "generate"),
        ("npm run db:migrate", "migrate"),
        # What only starts another program.
        ("uv run pytest", "test"),
        ("uv run --group dev pytest -q", "test"),
        ("uv run --with respx python -m pytest", "test"),
        ("poetry run mypy src", "check"),
        ("docker compose exec -T api pytest", "test"),
        ("docker compose run --rm web npm test", "test"),
        ("direnv exec . make test", "test"),
        ("rtk npm test", "test"),
        ("sudo -u dev make test", "test"),
        ("timeout -k 5 60 pytest", "test"),
        ("CI=1 npx -w web vitest run", "test"),
        ("bundle exec rspec", "test"),
        ("python -m unittest", "test"),
        ("node node_modules/.bin/jest", "test"),
        ("npx playwright test", "test"),
        # Programs with one purpose.
        ("ruff check .", "check"),
        ("ruff format .", "format"),
        ("ruff format --check .", "check"),
        ("prettier --check .", "check"),
        ("npx biome check src", "check"),
        ("npx biome check --write src", "format"),
        ("ruff check --fix .", "format"),
        ("biome format --write src", "format"),
        ("golangci-lint run", "check"),
        ("docker build .", "build"),
        ("Invoke-Pester", "test"),
        ("Invoke-ScriptAnalyzer -Path .", "check"),
        # What is done around the work.
        ("npm ci", "install"),
        ("pnpm install --frozen-lockfile", "install"),
        ("yarn", "install"),
        ("gh release create v1", "release"),
        ("git tag v1.2.0", "release"),
        ("npm publish", "release"),
        ("go mod tidy", "install"),
        # A look is no act.
        ("gh release list", ""),
        ("gh release view v1", ""),
        ("git tag", ""),
        ("git tag --list 'v*'", ""),
        ("git tag -l", ""),
        ("git tag -d v1", ""),
        ("gofmt -l cmd/", ""),
        ("go run ./cmd/shop session --help", ""),
        ("npm publish --dry-run", ""),
        ("npm version", ""),
        ("pytest --collect-only", ""),
        ("just --list", ""),
        ("make -n test", ""),
        ("npm run", ""),
        ("mise tasks", ""),
        ("pnpm why vite", ""),
        ("bun run scripts/test.ts", ""),
        ("node test.js", ""),
        ("cat Makefile", ""),
        ("git push", ""),
        ("mise run greet", ""),
    ],
)
def test_what_a_command_is_for(command: str, for_what: str) -> None:
    assert role(command) == for_what


@rows(
    ("command", "is_one"),
    [
        ("npm test", False),
        ("npm test -- --coverage", False),
        ("npm test -- tests/unit/cart.test.ts", True),
        ("pnpm --filter api test -- --testPathPattern=cart", True),
        ("npx jest --testPathPattern cart", True),
        ("npx jest -t 'adds'", True),
        ("npx vitest run", False),
        ("npx vitest run src/cart.test.ts", True),
        ("go test ./...", False),
        ("go test ./pay/... -count=1", True),
        ("go test ./pay -run TestCharge", True),
        ("go test -run=TestCharge ./...", True),
        ("pytest", False),
        ("pytest tests", False),
        ("pytest tests/ -q", False),
        ("pytest tests/unit/pay", True),
        ("pytest tests/test_pay.py::test_charge", True),
        ("pytest -k charge", True),
        ("python -m pytest", False),
        ("pytest --lf", True),
        ("cargo test", False),
        ("cargo test charge", True),
        ("mix test test/pay_test.exs:12", True),
        ("dotnet test --filter Name~Pay", True),
        ("./gradlew test --tests Pay", True),
        ("mvn test -Dtest=PayTest", True),
        ("make test lint", False),
        ("bun test", False),
        ("bun test src/pay.test.ts", True),
        ("Invoke-Pester -FullNameFilter pay", True),
        ("eslint src/a.ts", False),
        ("pytest -c pytest.ini", False),
        ("npx vitest --config vitest.config.ts", False),
        ("dotnet test Shop.sln", False),
        ("mvn test -f core/pom.xml", False),
    ],
)
def test_a_run_of_a_part_of_the_tests(command: str, is_one: bool) -> None:
    (step,) = command_steps(command)

    assert is_part(step) is is_one


@rows(
    ("command", "shown"),
    [
        ("npx jest --testPathPattern=cart", "npx jest --testPathPattern=<name>"),
        ("npx jest -t 'adds two'", "npx jest -t <name>"),
        (
            "pnpm --filter api test -- --testPathPattern=cart",
            "pnpm --filter api test -- --testPathPattern=<name>",
        ),
        ("bun test src/a.test.ts src/b.test.ts", "bun test <path>"),
        ("pytest tests/test_pay.py::test_x -q", "pytest <path> -q"),
        ("go test ./pay -run TestCharge -v", "go test ./pay -run <name> -v"),
        ("cargo test charge", "cargo test <name>"),
        ("mise run test", "mise run test"),
        ("python -m pytest -k x", "python -m pytest -k <name>"),
        ("eslint src/a.ts --fix", "eslint <path> --fix"),
    ],
)
def test_how_a_command_is_shown_without_what_was_so_once(command: str, shown: str) -> None:
    (step,) = command_steps(command)

    assert " ".join((*step.lead, *shown_words(step))) == shown


@pytest.mark.parametrize("body", ["vitest run && eslint .", "CI=1 vitest run"])
def test_a_script_is_for_what_its_declaration_runs(body: str) -> None:
    (step,) = command_steps("npm run everything")

    assert role_of(step) == ""
    assert role_of(step, {"everything": body}) == "test"


def test_a_script_that_runs_itself_is_for_nothing() -> None:
    (step,) = command_steps("npm run a")

    assert role_of(step, {"a": "npm run b", "b": "npm run a"}) == ""


@pytest.fixture
def own_commands() -> Iterator[None]:
    configure_commands(["check: bin/verify", "test: ctl suite", "starts: in-box", "run: npm test"])
    yield
    configure_commands([])


@pytest.mark.usefixtures("own_commands")
def test_a_person_says_what_commands_of_their_projects_are_for() -> None:
    commands = ["./bin/verify --all", "ctl suite fast", "in-box pytest", "npm test", "ctl deploy"]

    assert [role(command) for command in commands] == ["check", "test", "test", "run", ""]


def test_without_settings_own_commands_are_for_nothing() -> None:
    assert role("./bin/verify") == role("ctl suite") == ""


@rows("entry", ["bin/verify", "lint: bin/verify", "check:", ": x", "check bin/verify"])
def test_an_entry_of_another_form_is_refused_with_what_is_allowed(entry: str) -> None:
    with pytest.raises(ValidationError, match="PURPOSE: COMMAND with one of test"):
        IngestConfig(commands=(entry,))
