<?php
throw new Exception("error");
