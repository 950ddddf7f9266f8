(defn f [x]
