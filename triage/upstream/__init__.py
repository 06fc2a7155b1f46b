"""The trackers that reports are filed on, behind one interface.

`issue`: what any of them says of an issue; `client`: the interface; `errors`: what goes wrong;
`sites`: which tracker is where, and the client for it. Nothing in here writes to the database.
"""
