"""How well embedders find the memories that are here: questions, figures, a comparison."""
