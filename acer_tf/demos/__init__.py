"""Small trained agents that ship with the package: for each a zip that `ACER.save` wrote, and a card."""
