# ---
# class = "escape"
# attempts = "use the system's set-user-id programs: su, mount, newgrp, passwd, sudo"
# must = "no program becomes root"
# held_by = "nosuid on every bind; no_new_privs"
# limits = { memory = "128M" }
# ---
exec 2>/dev/null </dev/null
for command in 'su -c id' 'mount -t tmpfs none /tmp' 'newgrp root' 'sudo -n id' 'umount /usr' \
    'pkexec id' 'chsh -s /bin/sh root'; do
    if said=$($command) && case $said in *uid=0*) true ;; *) false ;; esac; then
        echo "$command: $said"
        exit 1
    fi
done
if mount -t tmpfs none /tmp || umount /usr; then
    echo "mount works"
    exit 1
fi
exit 0
