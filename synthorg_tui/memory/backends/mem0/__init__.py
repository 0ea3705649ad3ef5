"""Memories kept by the package ``mem0ai``.

``client`` runs the package without a network, ``mapping`` says how a memory is written in it, and
``backend`` is the memory backend; its settings are in ``memory.mem0_config``.
"""
