"""An independent reference for the action binding, from its page alone.

Standard library only. `reading` says what a message's bytes mean or where
they first go wrong, `admission` what kind of message that is, `canonical`
and `digests` what is hashed, `interpretation` what policy sees of it,
`numbers` and `classification` are the two finite computations beside it.
Nothing here knows how the component or the gateway does any of this.
"""
