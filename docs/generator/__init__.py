"""The reference under docs/reference: written from the schemas, the catalogue, the shipped policy and the code."""
