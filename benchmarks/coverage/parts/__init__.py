"""The simulations of one method each; the rooms beside this folder join them."""
