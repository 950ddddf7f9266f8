def f( {
