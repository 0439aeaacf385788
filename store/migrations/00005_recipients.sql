-- Who is told what where: contact and preferences of fans, their devices, and who
-- wants nothing on which channel.

-- +goose Up
ALTER TABLE fans
    ADD email         text, -- as typed
    ADD phone         text, -- E.164
    -- Hashes of both as opt_outs has them, so that one join finds those.
    ADD email_hash    bytea,
    ADD phone_hash    bytea,
    ADD locale        text NOT NULL DEFAULT '',
    ADD time_zone     text NOT NULL DEFAULT '', -- '': the show's
    ADD channels      jsonb, -- by kind; a kind without a list has the default
    ADD quiet_from    smallint, -- minutes after midnight
    ADD quiet_to      smallint,
    ADD turn_at_night boolean NOT NULL DEFAULT true,
    ADD digest_hour   smallint,
    ADD CHECK ((quiet_from IS NULL) = (quiet_to IS NULL));

CREATE TABLE devices (
    fan_no        bigint NOT NULL,
    device_id     text NOT NULL,
    platform      text NOT NULL CHECK (platform IN ('apns', 'fcm', 'webpush')),
    token         text NOT NULL, -- of Web Push, the endpoint
    environment   text NOT NULL DEFAULT '', -- of APNs
    topic         text NOT NULL DEFAULT '',
    p256dh        text NOT NULL DEFAULT '', -- of Web Push
    auth          text NOT NULL DEFAULT '',
    registered_at timestamptz NOT NULL,
    -- Kept but not sent to, until it is registered again.
    used          boolean NOT NULL DEFAULT true,
    PRIMARY KEY (fan_no, device_id),
    -- One owner a token.
    UNIQUE (platform, token)
);

-- Addresses that are not to be used: hashes, since they outlive those who had them.
CREATE TABLE opt_outs (
    channel text NOT NULL,
    address bytea NOT NULL,
    sender  text NOT NULL, -- '': from every sender
    kind    text NOT NULL, -- '': of everything
    reason  text NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (channel, address, sender, kind)
);

-- Keys that no setting holds, so that a change of settings breaks nothing that was
-- signed or hashed with them. 244 random bits each.
CREATE TABLE secrets (
    name  text PRIMARY KEY,
    value bytea NOT NULL
);
INSERT INTO secrets (name, value)
SELECT name, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
FROM unnest('{addresses,unsubscribe}'::text[]) AS name;

-- +goose Down
DROP TABLE secrets, opt_outs, devices;
ALTER TABLE fans DROP email, DROP phone, DROP email_hash, DROP phone_hash, DROP locale, DROP time_zone, DROP channels,
    DROP quiet_from, DROP quiet_to, DROP turn_at_night, DROP digest_hour;
