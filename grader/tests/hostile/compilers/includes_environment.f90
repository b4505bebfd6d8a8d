include '/proc/1/environ'
