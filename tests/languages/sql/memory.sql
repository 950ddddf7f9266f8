with recursive blocks(number, block) as (
    select 1, zeroblob(1)
    union all
    select number + 1, randomblob(1048576) from blocks
)
select count(*) from (select block from blocks order by block);
