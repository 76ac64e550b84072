-- The requests a screen shows: of one role ('' for any) and one kind. With kind '' these are all
-- outermost requests: the time of nested ones would count twice.
CREATE MACRO digest.chosen(role_, kind_) AS TABLE
SELECT *
FROM digest.request
WHERE (role_ = '' OR role = role_)
  AND if(kind_ = '', is_outer, name = kind_)
