-- SPDX-License-Identifier: Apache-2.0
--
-- collectives.sql - collectives by kind, size and group, and how long they waited for the last rank, as
-- trainprof-merge -v comm
--
-- tables: collective_calls
-- A rank waits until the last one comes; then the bytes are moved.
WITH met AS (
	SELECT
		collective, kind, device, "group", use, collective_bytes, dtype,
		count(*) AS calls, max(ranks) AS ranks, sum(dur_ns) AS dur_ns, sum(wait_ns) AS wait_ns,
		any_value(move_ns) AS move_ns
	FROM collective_calls
	GROUP BY ALL
)
SELECT
	CASE device WHEN 1 THEN 'nccl ' ELSE '' END || kind AS collective,
	collective_bytes AS bytes,
	dtype,
	"group",
	use AS "for",
	max(ranks) AS ranks,
	sum(calls) AS calls,
	count(*) FILTER (ranks > 1) AS matched,
	sum(dur_ns) // sum(calls) AS mean_ns,
	sum(wait_ns) // (count(*) FILTER (ranks > 1) * max(ranks)) AS wait_ns,
	sum(move_ns) // count(*) FILTER (ranks > 1) AS move_ns
FROM met
GROUP BY device, kind, collective_bytes, dtype, "group", use
ORDER BY sum(dur_ns) DESC, collective, bytes
