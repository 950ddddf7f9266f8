with recursive numbers(number) as (select 1 union all select 1 - number from numbers)
select count(*) from numbers;
