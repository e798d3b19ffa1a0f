-- What is to be known about a profile value when it is read: that a tainted run wrote it.

ALTER TABLE {p}_profiles ADD COLUMN mark TEXT; -- JSON
