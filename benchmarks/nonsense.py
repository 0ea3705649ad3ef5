"""Queries that everyday conversations hold nothing about."""

_OTHER_FIELDS = """
sourdough starter hydration ratio
best time of year to prune apple trees
how do I remove red wine from a carpet
champions league final penalty shootout
symptoms of vitamin D deficiency
history of the ottoman empire janissaries
chord progression of a twelve bar blues
mortgage interest rates for first time buyers
how tall is mount kilimanjaro
knitting pattern for toddler mittens
recipe for vegan lasagna with lentils
lunar eclipse visibility in australia
how to fix a leaking kitchen faucet
treatment of plantar fasciitis
breeding season of emperor penguins
tax deduction for electric vehicles
photosynthesis in cactus plants
what causes thunder and lightning
impressionist painters of the nineteenth century
how to train a puppy not to bite
aircraft wing flutter aerodynamics
roman aqueduct construction techniques
calories in a banana smoothie
marathon training plan for beginners
opening hours of the louvre museum
quantum chromodynamics gluon confinement
shakespeare sonnet rhyme scheme
bicycle chain lubricant for rain
cheese fondue with gruyere
volcanic eruption in iceland
"""

_SOFTWARE = """
push a branch that has no upstream
kubernetes pod stuck in CrashLoopBackOff
docker compose network bridge error
rust borrow checker lifetime mismatch
postgres index bloat vacuum full
webpack bundle size treeshaking
TLS certificate chain verification failed
segmentation fault in malloc
python asyncio event loop closed
terraform state lock dynamodb
nginx reverse proxy websocket upgrade
mutex deadlock in goroutine
jwt token signature invalid
cron job timezone daylight saving
redis eviction policy maxmemory
sql injection prepared statement
merge conflict in package-lock.json
regex catastrophic backtracking
pytest fixture scope session
graphql n+1 resolver dataloader
"""

NONSENSE = {
    "other fields": _OTHER_FIELDS.strip().splitlines(),
    "software": _SOFTWARE.strip().splitlines(),
}
