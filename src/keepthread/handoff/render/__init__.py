"""The handoff as text: for the model (context, index), for the person (Markdown, notice)."""
