-- The requests a screen shows: of one role ('' for any) and one kind. With kind '' these are all
-- outermost requests: the time of nested ones would count twice. With kind NULL these are all.
CREATE MACRO digest.chosen(role_, kind_) AS TABLE
SELECT *
FROM digest.request
WHERE (role_ = '' OR role = role_)
  AND CASE WHEN kind_ IS NULL THEN true WHEN kind_ = '' THEN is_outer ELSE name = kind_ END
