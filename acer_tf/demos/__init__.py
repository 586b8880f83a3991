"""Small trained agents that ship with the package: each has a zip that `ACER.save` wrote, and a card."""
