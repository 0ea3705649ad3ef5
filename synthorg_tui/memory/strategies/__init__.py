"""The ways memories reach an agent."""
