"""The file formats: how to make samples of each, load, compare, use and reseal them."""
