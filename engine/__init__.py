"""The mutation engine: a library and a command line that know neither Django nor a database."""
