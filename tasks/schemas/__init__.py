"""The embedded databases: their tables as SQL text (`*.sql`), their rows and their questions as tables of phrases (`*.toml`).

`embedded` builds them into files, `rows` makes the rows, `questions` the instances of the database task.
"""
