-- The requests a screen is about: of one role ('' for any) and one kind ('' for any, and then
-- those inside others are left out: their time would count twice).
CREATE MACRO digest.chosen(role_, kind_) AS TABLE
SELECT *
FROM digest.request
WHERE (role_ = '' OR role = role_)
  AND if(kind_ = '', is_outer, name = kind_)
