"""The store's database on PostgreSQL: several programs, on several machines, on one store."""
