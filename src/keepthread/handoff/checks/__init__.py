"""What is checked of a model's answer, one module per kind of fault."""
