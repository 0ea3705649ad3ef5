"""The terminal application: screens, widgets and pure view models."""
