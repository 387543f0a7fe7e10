"""The forms of answer: found in a reply, read, and measured against the truth."""
