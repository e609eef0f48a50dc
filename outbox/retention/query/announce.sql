-- Announces a process with its retention settings.
INSERT INTO hooklatch.processes (name, kind, version, config_hash, settings)
VALUES (:name, :kind, :version, :config_hash, :settings)
ON CONFLICT (name) DO UPDATE
SET
    kind = EXCLUDED.kind,
    version = EXCLUDED.version,
    config_hash = EXCLUDED.config_hash,
    settings = EXCLUDED.settings,
    seen_at = now()
