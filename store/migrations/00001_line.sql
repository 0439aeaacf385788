-- The line: shows, entries, openings, waves, turns, claims, and what follows from
-- them. Short numbers are the keys; a fan's id stands in fans alone.

-- +goose Up
CREATE TABLE fans (
    fan_no      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fan_id      text NOT NULL UNIQUE,
    -- Items that existed by read_before were all marked read at once.
    read_before timestamptz
);

CREATE TABLE shows (
    show_no        int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    show_id        text NOT NULL UNIQUE,
    name           text NOT NULL,
    venue          text NOT NULL,
    starts_at      timestamptz NOT NULL,
    sales_close_at timestamptz,
    time_zone      text NOT NULL,
    url            text NOT NULL,
    templates      jsonb,
    policy         jsonb NOT NULL,
    paused_app     boolean NOT NULL DEFAULT false,
    paused_staff   boolean NOT NULL DEFAULT false,
    cancelled      boolean NOT NULL DEFAULT false
);

-- The head of a show's line: what the next join, move and decision take.
CREATE TABLE lines (
    show_no         int PRIMARY KEY REFERENCES shows,
    next_eno        bigint NOT NULL DEFAULT 1,
    next_place      bigint NOT NULL DEFAULT 1,
    front_place     bigint NOT NULL DEFAULT 0,
    pace_at         timestamptz NOT NULL DEFAULT 'epoch',
    decision        bigint NOT NULL DEFAULT 0,
    last_decided_at timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 50);

-- "Decide this show at that time": insert-only for causes; a decision deletes its
-- show's rows and writes down the next moments.
CREATE TABLE due (
    show_no int NOT NULL,
    at      timestamptz NOT NULL
);
CREATE INDEX due_at ON due (at);
CREATE INDEX due_show ON due (show_no);

CREATE TABLE entries (
    show_no         int NOT NULL,
    eno             bigint NOT NULL,
    fan_no          bigint NOT NULL,
    place           bigint NOT NULL,
    prev_place      bigint, -- before the last move or rejoin
    tier            text NOT NULL,
    party           smallint NOT NULL,
    state           text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'holding', 'bought', 'left', 'removed')),
    dormant         boolean NOT NULL DEFAULT false,
    missed          smallint NOT NULL DEFAULT 0,
    joined_at       timestamptz NOT NULL,
    joined_decision bigint NOT NULL,
    PRIMARY KEY (show_no, eno),
    UNIQUE (fan_no, show_no),
    UNIQUE (show_no, place)
) WITH (fillfactor = 90);
CREATE INDEX entries_walk ON entries (show_no, tier, party, place) INCLUDE (eno, fan_no)
    WHERE state = 'waiting' AND NOT dormant;
CREATE INDEX entries_holding ON entries (show_no, eno) WHERE state = 'holding';
CREATE INDEX entries_dormant ON entries (fan_no) WHERE dormant;

-- What an entry was before each change. Decisions numbered above decision saw the
-- change, those up to it did not.
CREATE TABLE entry_log (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    show_no  int NOT NULL,
    eno      bigint NOT NULL,
    decision bigint NOT NULL,
    at       timestamptz NOT NULL,
    what     text NOT NULL,
    reason   text NOT NULL DEFAULT '',
    place    bigint NOT NULL,
    tier     text NOT NULL,
    party    smallint NOT NULL,
    state    text NOT NULL,
    dormant  boolean NOT NULL
);
CREATE INDEX entry_log_entry ON entry_log (show_no, eno, id);
CREATE INDEX entry_log_decision ON entry_log (show_no, decision);

-- Positions: how many active and dormant entries each block of 1,024 places holds,
-- and the changes not yet folded into it.
CREATE TABLE line_blocks (
    show_no int NOT NULL,
    block   bigint NOT NULL,
    active  int NOT NULL,
    dormant int NOT NULL,
    PRIMARY KEY (show_no, block)
) WITH (fillfactor = 70);
CREATE TABLE line_deltas (
    show_no int NOT NULL,
    block   bigint NOT NULL,
    active  int NOT NULL,
    dormant int NOT NULL
);
CREATE INDEX line_deltas_show ON line_deltas (show_no, block);

-- A trigger, so that no statement can forget it.
-- +goose StatementBegin
CREATE FUNCTION count_joined() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO line_deltas
    SELECT show_no, place >> 10, count(*) FILTER (WHERE NOT dormant), count(*) FILTER (WHERE dormant)
    FROM new_rows WHERE state = 'waiting' GROUP BY 1, 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO line_deltas
    SELECT show_no, block, sum(active), sum(dormant)
    FROM (SELECT show_no, place >> 10 AS block, (NOT dormant)::int AS active, dormant::int AS dormant
          FROM new_rows WHERE state = 'waiting'
          UNION ALL
          SELECT show_no, place >> 10, -(NOT dormant)::int, -dormant::int
          FROM old_rows WHERE state = 'waiting') d
    GROUP BY 1, 2 HAVING sum(active) <> 0 OR sum(dormant) <> 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER entries_count_joined AFTER INSERT ON entries
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_joined();
CREATE TRIGGER entries_count_changed AFTER UPDATE ON entries
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_changed();

CREATE TABLE openings (
    opening_no     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    show_no        int NOT NULL REFERENCES shows,
    opening_id     text NOT NULL,
    fingerprint    jsonb NOT NULL, -- what makes another report the same one
    tier           text NOT NULL,
    reason         text NOT NULL,
    adjacent       boolean NOT NULL,
    mode           text NOT NULL,
    strategy       text NOT NULL,
    fans_per_seat  int NOT NULL, -- thousandths
    window_s       int NOT NULL,
    hold_s         int NOT NULL,
    state          text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'filled', 'exhausted', 'cancelled')),
    quantity       int NOT NULL,
    free           int NOT NULL CHECK (free >= 0),
    held           int NOT NULL DEFAULT 0 CHECK (held >= 0),
    confirmed      int NOT NULL DEFAULT 0 CHECK (confirmed >= 0),
    given          bigint[] NOT NULL DEFAULT '{}',
    waves          int NOT NULL DEFAULT 0,
    last_empty     boolean NOT NULL DEFAULT false, -- the newest wave took nobody
    recorded_at    timestamptz NOT NULL,
    final_at       timestamptz,
    final_decision bigint NOT NULL DEFAULT 0,
    handed_back    boolean NOT NULL DEFAULT false,
    CHECK (free + held + confirmed = quantity),
    UNIQUE (show_no, opening_id)
) WITH (fillfactor = 70);
CREATE INDEX openings_unfinished ON openings (show_no, opening_no)
    WHERE state = 'open' OR NOT handed_back;
CREATE INDEX openings_show ON openings (show_no, opening_no);

-- Labelled seats; an opening of a quantity has none.
CREATE TABLE seats (
    opening_no bigint NOT NULL REFERENCES openings,
    no         int NOT NULL,
    show_no    int NOT NULL,
    label      text NOT NULL,
    state      text NOT NULL DEFAULT 'free' CHECK (state IN ('free', 'held', 'confirmed', 'returned')),
    claim      text,
    PRIMARY KEY (opening_no, no)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX seats_one_live_label ON seats (show_no, label) WHERE state IN ('free', 'held');

CREATE TABLE waves (
    opening_no  bigint NOT NULL,
    n           int NOT NULL,
    show_no     int NOT NULL,
    decision    bigint NOT NULL,
    decided_at  timestamptz NOT NULL,
    opens_at    timestamptz NOT NULL,
    rate        bigint NOT NULL, -- turns a second, thousandths
    window_s    int NOT NULL,
    close_cap   timestamptz NOT NULL,
    size        int NOT NULL,
    free        int NOT NULL,
    demand      int NOT NULL,
    walked_to   bigint NOT NULL,
    misses_done int NOT NULL DEFAULT 0,
    last_closes timestamptz, -- of the last turn; null for a wave of nobody
    PRIMARY KEY (opening_no, n)
);
CREATE INDEX waves_live ON waves (show_no, last_closes) WHERE last_closes IS NOT NULL AND misses_done < size;

-- Members by chunks of 1,000 entry numbers: a few rows a wave, found by entry.
CREATE TABLE wave_members (
    show_no    int NOT NULL,
    chunk      bigint NOT NULL,
    opening_no bigint NOT NULL,
    n          int NOT NULL,
    enos       bigint[] NOT NULL,
    fans       bigint[] NOT NULL,
    ks         int[] NOT NULL,
    parties    smallint[] NOT NULL,
    places     bigint[] NOT NULL,
    given      boolean[] NOT NULL,
    PRIMARY KEY (show_no, chunk, opening_no, n)
);
CREATE INDEX wave_members_wave ON wave_members (opening_no, n);
-- Written under the show's lock, which compressing them would hold for longer.
ALTER TABLE wave_members
    ALTER enos SET STORAGE EXTERNAL, ALTER fans SET STORAGE EXTERNAL, ALTER ks SET STORAGE EXTERNAL,
    ALTER parties SET STORAGE EXTERNAL, ALTER places SET STORAGE EXTERNAL, ALTER given SET STORAGE EXTERNAL;

-- All of a group before place has been told of the opening.
CREATE TABLE marks (
    opening_no bigint NOT NULL,
    tier       text NOT NULL,
    party      smallint NOT NULL,
    place      bigint NOT NULL,
    decision   bigint NOT NULL,
    PRIMARY KEY (opening_no, tier, party)
) WITH (fillfactor = 70);

-- Only for those who acted or were acted on: a lapse writes nothing.
CREATE TABLE turns (
    opening_no bigint NOT NULL,
    eno        bigint NOT NULL,
    show_no    int NOT NULL,
    n          int NOT NULL,
    k          int NOT NULL,
    state      text NOT NULL CHECK (state IN ('claimed', 'declined', 'left', 'removed', 'bought')),
    at         timestamptz NOT NULL,
    decision   bigint NOT NULL,
    PRIMARY KEY (opening_no, eno)
);

CREATE TABLE claims (
    id         text PRIMARY KEY,
    show_no    int NOT NULL,
    opening_no bigint NOT NULL REFERENCES openings,
    eno        bigint NOT NULL,
    fan_no     bigint NOT NULL,
    seats      int NOT NULL,
    labels     text[] NOT NULL DEFAULT '{}',
    state      text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'confirmed', 'released', 'lapsed')),
    claimed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz,
    reason     text NOT NULL DEFAULT ''
);
-- One claim a fan and opening; one hold a fan and show.
CREATE UNIQUE INDEX claims_turn ON claims (opening_no, eno);
CREATE UNIQUE INDEX claims_one_hold ON claims (show_no, eno) WHERE state = 'held';
CREATE INDEX claims_expiry ON claims (show_no, expires_at) WHERE state = 'held';

-- What a fan can pick up and that is a row of its own: turns of strategy write and
-- results of claims. Texts are made on reading.
CREATE TABLE inbox (
    fan_no     bigint NOT NULL,
    kind       text NOT NULL,
    ref        bigint NOT NULL, -- the opening's number
    visible_at timestamptz NOT NULL,
    show_no    int NOT NULL,
    eno        bigint NOT NULL,
    n          int NOT NULL DEFAULT 0,
    k          int NOT NULL DEFAULT 0,
    seats      smallint NOT NULL,
    state      text NOT NULL DEFAULT '', -- of a result
    PRIMARY KEY (fan_no, kind, ref)
);
CREATE INDEX inbox_upcoming ON inbox (ref, visible_at) WHERE kind = 'turn';

-- Read marks stand apart, since some items have no row.
CREATE TABLE inbox_reads (
    fan_no  bigint NOT NULL,
    kind    text NOT NULL,
    ref     bigint NOT NULL,
    read_at timestamptz NOT NULL,
    PRIMARY KEY (fan_no, kind, ref)
);

-- What happened, stored with its cause. Those that a connected fan may have to
-- hear of are read by the instances in order of (xid, id).
CREATE TABLE events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at         timestamptz NOT NULL,
    type       text NOT NULL,
    show_no    int,
    opening_no bigint,
    fan_no     bigint,
    n          int, -- of a wave
    live       boolean NOT NULL DEFAULT false,
    data       jsonb
);
CREATE INDEX events_live ON events (xid, id) WHERE live;

-- +goose Down
DROP TABLE events, inbox_reads, inbox, claims, turns, marks, wave_members, waves, seats, openings,
    line_deltas, line_blocks, entry_log, entries, due, lines, shows, fans;
DROP FUNCTION count_joined, count_changed;
