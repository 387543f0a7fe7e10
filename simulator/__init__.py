"""The conversation, the engine that runs many, the store, the command line. Importing this imports nothing heavy."""
