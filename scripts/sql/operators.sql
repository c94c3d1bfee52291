-- SPDX-License-Identifier: Apache-2.0
--
-- operators.sql - time, tensor memory and device time by operator, as trainprof-merge -v operator
--
-- tables: spans, kernels
-- A span that is merged counts as one with its parent. A call has the device time of its own launches in
-- the operator around it. device_total_ns: of all that was launched inside, once, also where an operator
-- encloses itself.
WITH RECURSIVE
launched AS (
	SELECT span, sum(dur_ns) AS dur_ns FROM kernels WHERE span IS NOT NULL GROUP BY span
),
around AS (
	SELECT launched.span, spans.name, spans.parent, spans.kind, launched.dur_ns
	FROM launched JOIN spans ON spans.id = launched.span
	UNION ALL
	SELECT around.span, spans.name, spans.parent, spans.kind, around.dur_ns
	FROM around JOIN spans ON spans.id = around.parent
),
device_total AS (
	SELECT name, sum(dur_ns) AS dur_ns
	FROM (SELECT DISTINCT span, name, dur_ns FROM around WHERE kind <> 'call')
	GROUP BY name
),
device_self AS (
	SELECT operator AS name, sum(dur_ns) AS dur_ns FROM kernels GROUP BY operator
)
SELECT
	spans.name AS operator,
	count(*) AS calls,
	coalesce(sum(spans.self_ns), 0) AS self_ns,
	sum(spans.dur_ns) AS total_ns,
	coalesce(sum(spans.self_bytes), 0) AS self_bytes,
	coalesce(any_value(device_self.dur_ns), 0) AS device_self_ns,
	coalesce(any_value(device_total.dur_ns), 0) AS device_total_ns
FROM spans
LEFT JOIN device_self ON device_self.name = spans.name
LEFT JOIN device_total ON device_total.name = spans.name
WHERE spans.merged = 0
GROUP BY spans.name
ORDER BY self_ns DESC, operator
