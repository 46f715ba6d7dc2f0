"""What runs plugins: profiles, pod classes and their cached answers, selection."""
