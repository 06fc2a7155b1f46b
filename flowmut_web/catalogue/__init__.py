"""The catalogue: mutations, operators and seeds, with what campaigns made of them."""
