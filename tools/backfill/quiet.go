package main

import "log/slog"

// quiet drops what the database says while it does its work; errors are returned besides.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
