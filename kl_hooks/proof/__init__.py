"""What is proven for the content that is here now: receipts joined with today's source, judged by
whoever asks.

Nothing is stored: `gate.judge` reads the receipts of a content, `content_proof.prove` answers with
a tier and its reasons.
"""
