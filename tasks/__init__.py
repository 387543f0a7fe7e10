"""Tasks: what is asked, and how an answer is read and scored. Knows no mode, no graph, no engine."""
