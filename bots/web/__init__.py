"""The web page: a server that holds games, and the page's files in `static/`.

`app` is the door (hosts, origins, headers), `session` one connection, `lounge` all games and who
watches them, `game` one game, `view` what the page is told about it, `messages` what the page may
say. No rules live here or in the page: `engine.Position` is asked for all of them.
"""
